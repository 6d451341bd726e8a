"""awk, as its own small language. Models busybox editors/awk.c."""
