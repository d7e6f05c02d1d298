package counters

// LockClusterQuery is the first statement of a change of the term.
const LockClusterQuery = lockClusterQuery
