// Package strikes bans keys that keep calling after they were refused.
package strikes
