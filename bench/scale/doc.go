// Command scale measures how petstore's costs grow: with the animals of a tenant, the keys, the
// servers that share a Redis, and the requests whose usage is recorded; and what changes of term
// cost with many tenants and servers. It prints tables and writes docs/benchmarks-scale.md. Its
// databases are temporary.
package main
