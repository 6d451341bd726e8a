"""HorizontalPodAutoscalers."""
