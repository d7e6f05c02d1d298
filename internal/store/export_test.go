package store

import (
	"strconv"
	"strings"
)

// PetQueries returns the list's queries with their arguments written in, for EXPLAIN.
func PetQueries(tenantID, after int64) map[string]string {
	fill := strings.NewReplacer("$1", strconv.FormatInt(tenantID, 10), "$2", strconv.FormatInt(after, 10), "$3", "21", "$4", "'available'")
	return map[string]string{"list": fill.Replace(listPetsQuery), "list by status": fill.Replace(listPetsByStatusQuery)}
}
