// Package shares bounds what requests hold at the same time, such as memory for bodies: in total,
// and for each tenant or network, so that none takes the others' part. A request beyond a bound is
// refused at once. Shares are safe for concurrent use.
package shares
