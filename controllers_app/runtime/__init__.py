"""What components are built from: informers, work queues, the retry switch, leader election."""
