"""What has changed in an object since it was read, applied to the document that it was read from."""
