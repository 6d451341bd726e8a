"""What releases answer differently: the same requests, recorded from each and replayed."""
