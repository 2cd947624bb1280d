select session, sequence from gone
