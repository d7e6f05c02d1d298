// Package output prints items as a table, as JSON (one a line or in an array), as CSV or as rows
// separated by tabs.
//
// A View lists the columns of an item. The names of its columns are the members in JSON and the
// headings in CSV, which scripts rely on. Text from the database is printed without control
// characters, which JSON escapes. In CSV no text looks like a formula to a spreadsheet. A Printer
// may be used by one goroutine at a time. An unknown column is a ColumnError; other errors come
// from the writer or a Filter.
package output
