package pgconn

// quiet reports that nothing is known against the connection: Windows, where only petstorectl runs,
// can't look at a socket without changing how it blocks. A statement on a connection that has ended
// fails.
func (c *deadlineConn) quiet() bool { return true }
