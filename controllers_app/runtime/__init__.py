"""Building blocks of components: informers, work queues, controllers, leader election."""
