package limits

// Margin returns how many requests a server may have admitted for a tenant with that limit per
// minute and not recorded yet. If the server ends silently, nobody knows of them. A twentieth of
// the limit is small enough that the others hardly miss it, and large enough that a server rarely
// waits for a record. Small limits have three, so that a few requests at once do not wait.
func Margin(perMinute int64) int64 { return max(3, perMinute/20) }
