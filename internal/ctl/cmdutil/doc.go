// Package cmdutil holds what the commands of petstorectl share: the Factory, arguments and flags, confirmation,
// completion, and errors with their exit codes.
//
// A command is an options struct in two blocks (the Factory, then what was asked), a constructor that fills it from
// arguments and flags, and a run function that does not know Cobra. Data goes to stdout, messages go to stderr.
package cmdutil
