// Package config reads the configuration of a server from the environment, and lists all its
// mistakes at once. No text of this package has the value of a secret: a secret does not print its
// value, and a mistake names only the variable. A Config is read once, before it is shared.
package config
