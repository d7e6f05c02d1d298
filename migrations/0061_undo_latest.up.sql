-- Only the latest change of a subject is undone, so nobody looks up any more which entry took back which.
alter table undo_values drop column undoes;
