package api

import (
	"bytes"
	"strconv"

	"petstore.example/internal/api/httpfield"
)

// itemTag returns the ETag of an animal or an order, computed from its JSON, whether or not that
// ends in a line break. A list with only this item has the same ETag (listTag).
func itemTag(body []byte) string { return httpfield.ETag(bytes.TrimSuffix(body, []byte("\n"))) }

// itemURL is the address of one row of a list.
func itemURL(list string, id int64) string { return list + "/" + strconv.FormatInt(id, 10) }
