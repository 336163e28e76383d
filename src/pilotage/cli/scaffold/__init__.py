"""What `pilotage init` and `pilotage create` write: new files, and edits of files that people have changed."""
