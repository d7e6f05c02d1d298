// Package loglimit writes at most one line a second of each kind of trouble, and says how many it
// left out. Trouble comes in floods: a database that is away fails every request, and a line for
// each fills a disk and says nothing more.
//
// The number that was left out stands in the field "suppressed" of the next line of that kind. If
// none comes, a line of its own says it within two seconds. Lines that are still left out when the
// process ends are not counted.
//
// All of it is safe for concurrent use. A line that is left out takes no lock and makes no system
// call.
package loglimit
