// Package strikes counts 429 responses, and bans keys that keep sending requests after them.
package strikes
