"""CEL: the language, its libraries, its texts and its limits."""
