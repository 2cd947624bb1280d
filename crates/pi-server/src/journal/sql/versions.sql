select session, version, sequence from version
