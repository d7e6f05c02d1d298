// Package output prints items as a table, as JSON, as CSV or as rows separated by tabs.
//
// A View lists the columns of an item. The names of its columns are the members in JSON and the headings in CSV, which
// scripts rely on. Text from the database is printed without control characters, and in CSV so
// that no spreadsheet takes it for a formula.
package output
