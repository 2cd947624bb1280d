vacuum;
pragma wal_checkpoint(truncate);
