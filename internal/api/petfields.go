package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
)

// petStatuses lists what catalog.ParseStatus accepts.
const petStatuses = "available, pending, sold"

// petMembers are the members of an animal that clients write.
var petMembers = []string{"name", "categoryId", "status"}

// readPet reads the members that are there. A NewPet must have the required ones. A change may have
// any of them, and without members it changes nothing.
func readPet(data []byte, strict bool, required ...string) (catalog.PetPatch, error) {
	o, err := jsonbody.Read(data, strict, petMembers...)
	if err != nil {
		return catalog.PetPatch{}, err
	}
	for _, name := range required {
		o.Require(name)
	}
	patch := catalog.PetPatch{
		Name: petName(o), CategoryID: o.Integer("categoryId"),
		Status: jsonbody.Enum(o, "status", catalog.ParseStatus, petStatuses),
	}
	return patch, o.Err()
}

// decodeNewPet reads the contract's NewPet.
func decodeNewPet(data []byte, strict bool) (catalog.NewPet, error) {
	patch, err := readPet(data, strict, "name", "categoryId")
	pet := catalog.NewPet{Status: catalog.Available}
	patch.Set(&pet)
	return pet, err
}

// petName returns the member name. It is nil if the member is missing or can't be the name of an
// animal.
func petName(o *jsonbody.Object) *string {
	name := o.Text("name")
	if name == nil {
		return nil
	}
	if err := catalog.CheckName(*name); err != nil {
		o.Reject(err.Error())
		return nil
	}
	return name
}

// The bounds of the filters of animals.
const (
	maxIDs        = 100
	maxNamePrefix = 255 // characters, as many as a name has
)

// petFilter is a query parameter that only the list of animals has. Filters combine by AND, with
// status too.
type petFilter struct {
	name string
	// set makes the page select by the value. It returns either the escaped value, for links and
	// the page cache's key, or what the value must be. The page shares no memory with the request.
	set func(page *catalog.Page, value string) (text, must string)
	// joined says that values of a repeated parameter are joined by commas: some clients send an
	// array in this way.
	joined bool
}

// petFilters are in the order in which links have them.
var petFilters = [...]petFilter{
	{name: "categoryId", set: func(page *catalog.Page, value string) (text, must string) {
		id, ok := parseID(value)
		if !ok {
			return "", "be a 64-bit integer"
		}
		page.CategoryID = &id
		return strconv.FormatInt(id, 10), ""
	}},
	{name: "name", set: func(page *catalog.Page, value string) (text, must string) {
		if value == "" || utf8.RuneCountInString(value) > maxNamePrefix || !utf8.ValidString(value) ||
			strings.IndexByte(value, 0) >= 0 {
			return "", "be the first 1 to " + strconv.Itoa(
				maxNamePrefix,
			) + " characters of a name, in UTF-8 and without NUL"
		}
		page.NamePrefix = strings.Clone(value)
		return url.QueryEscape(value), ""
	}},
	{name: "ids", joined: true, set: func(page *catalog.Page, value string) (text, must string) {
		var ok bool
		if page.IDs, ok = parseIDs(value); !ok {
			return "", "be 1 to " + strconv.Itoa(maxIDs) + " 64-bit integers separated by commas, as in ids=7,42"
		}
		return joinIDs(page.IDs), "" // Commas stay unescaped, which keeps links with a hundred IDs short.
	}},
}

// parseIDs reads integers separated by commas. It returns them in ascending order, each once.
func parseIDs(s string) ([]int64, bool) {
	if strings.Count(s, ",") >= maxIDs {
		return nil, false
	}
	var ids []int64
	for text := range strings.SplitSeq(s, ",") {
		id, ok := parseID(text)
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), true
}

func joinIDs(ids []int64) string {
	var b []byte
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(b)
}
