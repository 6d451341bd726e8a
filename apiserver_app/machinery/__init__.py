"""What all components share: kernel, objects, selectors, patches, types. No framework, no I/O."""
