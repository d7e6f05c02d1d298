// Package structure holds tests of the code's shape: who imports whom, how long files and functions are, and what must
// not stand in them. docs/architecture.md tells the reasons.
package structure
