package counters

// LockClusterQuery is the first statement of a renewal.
const LockClusterQuery = lockClusterQuery

// WellKnown is wellKnown.
var WellKnown = wellKnown
