-- What commands did. One row for each mutating command that was admitted.
create table command (
    ticket            integer primary key,
    -- The place of its acceptance in the order of all records.
    sequence          integer not null unique,
    accepted_at       integer not null,
    started_at        integer,
    lane              text    not null,
    lane_sequence     integer not null,
    kind              text    not null,
    principal         text    not null,
    client            text    not null,
    id                text,
    key               text,
    fingerprint       blob    not null,
    -- The session that it is about, in whichever lane it stands.
    subject           text,
    -- The rest of its header, as JSON.
    header            text    not null,
    -- Stands for the same intent as this command and is answered the same.
    alias_of          integer,
    finished_sequence integer unique,
    finished_at       integer,
    -- 0 or 1; a failure has an error, and may have timed out, or been found unfinished after a restart.
    success           integer,
    timed_out         integer,
    recovered         integer,
    error             text,
    version           integer,
    -- What is said again to a retry: a response without id, as JSON. Gone when nobody can ask for it any more.
    answer            text,
    -- What the outcome costs in memory.
    size              integer,
    -- 1: kept as history only.
    forgotten         integer not null default 0
) strict;

create index command_by_subject on command (subject, ticket);
create index command_by_id on command (id) where id is not null;
create index command_by_alias on command (alias_of) where alias_of is not null;
create index command_answered on command (ticket) where forgotten = 1 and answer is not null;
create index command_remembered on command (ticket) where forgotten = 0;

-- The versions of the sessions that there are.
create table version (
    session  text    primary key,
    version  integer not null,
    sequence integer not null
) strict, without rowid;

-- How many records each lane has had.
create table lane (
    lane     text    primary key,
    sequence integer not null
) strict, without rowid;

-- The last number of each kind that was given out: they are never given out again, whatever is pruned.
create table mark (
    name  text    primary key,
    value integer not null
) strict, without rowid;

-- The sessions that there are, and where each is found again. A file that is not there yet has nothing in it.
create table berth (
    session text primary key,
    file    text,
    cwd     text not null,
    created text not null
) strict, without rowid;
