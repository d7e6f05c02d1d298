// Package envvars knows the environment variables PETSTORE_… of both programs.
//
// A program refuses a variable that no program reads, and names the one that was probably meant:
// with a misspelt PETSTORE_DATABASE_URL, a default would decide which database a command changes. A
// secret is the value of its variable, or the content of the file that the variable with _FILE
// names. No error or warning holds a secret, or a file's name that may be a secret itself.
//
// All functions are safe for concurrent use. A file that cannot be read is an error; one that
// everybody on the machine can read is a warning.
package envvars
