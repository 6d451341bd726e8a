"""What must not stop the cluster, and what must not be lost: attacks, deaths, disks, each with the
bound or the promise that holds."""
