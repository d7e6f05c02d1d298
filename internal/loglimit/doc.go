// Package loglimit writes at most one line a second for each kind of trouble, and says how many it
// left out. Trouble comes in floods: if the database is down every request fails, and a line for
// each would fill a disk and say nothing more.
//
// The field "suppressed" of the next line of that kind has the number left out. If no line follows,
// a separate line says it within two seconds. Lines that are still left out when the process ends
// are not counted.
//
// All of it is safe for concurrent use. A suppressed line takes no lock and makes no system call.
package loglimit
