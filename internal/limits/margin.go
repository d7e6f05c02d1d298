package limits

// Margin returns how many requests of a tenant with that per-minute limit a server may have
// admitted that are not recorded as usage yet: as many as nobody knows of if the server ends
// silently. A twentieth of the limit is small enough that the others hardly miss it, and large
// enough that a server rarely waits for a record. Small limits have three, so that a few requests
// at once do not wait.
func Margin(perMinute int64) int64 { return max(3, perMinute/20) }
