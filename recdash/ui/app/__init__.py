"""What pages stand on: the view, its links, cached answers, the reader, the theme."""
