package pgconn

// quiet always reports true: Windows, where only petstorectl runs, can't look at a socket without
// changing how it blocks. A statement on a connection that has ended fails.
func (c *deadlineConn) quiet() bool { return true }
