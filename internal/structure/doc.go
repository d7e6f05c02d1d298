// Package structure tests the structure of the code: the imports between packages, the length of
// files and functions, and words that must not appear. docs/architecture.md lists the packages and
// what they may import.
package structure
