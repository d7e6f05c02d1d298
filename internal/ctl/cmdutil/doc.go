// Package cmdutil holds what the commands of petstorectl share: the Factory, arguments and flags,
// confirmation, completion, and errors with their exit codes.
//
// A command is an options struct (the Factory, then its own options), a constructor that fills it
// from arguments and flags, and a run function that does not depend on Cobra. Data goes to stdout,
// messages go to stderr.
package cmdutil
