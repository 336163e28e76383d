"""Pure data, no I/O: models, metadata, kinds, selectors, quantities, times, codecs."""
