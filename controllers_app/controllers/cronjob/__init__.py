"""The cronjob controller and its schedules."""
