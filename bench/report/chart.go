package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"text/template"
)

// Chart is a horizontal bar chart for light and dark pages. It is drawn here because the chart libraries that we tried fix the
// colors for one kind of page.
type Chart struct {
	Title  string
	Note   string  // what the marks mean
	Format string  // of the figures
	Least  float64 // shortest length of the axis
	Bars   []Bar
}

// Bar is one row.
type Bar struct {
	Name  string
	Parts []Part
	Mark  float64 // the goal, 0 for none
}

// Part is a piece of a bar. Parts of the same name have the same colour.
type Part struct {
	Name  string
	Value float64
}

// Sum returns the bar's length.
func (b Bar) Sum() (sum float64) {
	for _, p := range b.Parts {
		sum += p.Value
	}
	return sum
}

// Sizes in pixels.
const (
	chartWidth, nameWidth, figureWidth = 760, 190, 60
	rowHeight, barHeight, headHeight   = 24, 14, 64
)

//go:embed chart.svg.tmpl
var chartText string

var chartTemplate = template.Must(template.New("chart").Parse(chartText))

// box is a drawn part or mark; label is a text.
type box struct {
	X, Y, Width float64
	Class       int
}

type label struct {
	X, Y float64
	Text string
}

type drawing struct {
	Chart
	Width, Height, BarHeight, Middle int
	Boxes, Markers, Keys             []box
	Names, Figures, KeyNames         []label
}

// SVG draws the chart.
func (c Chart) SVG() ([]byte, error) {
	d := drawing{Chart: c, Width: chartWidth, Height: headHeight + rowHeight*len(c.Bars) + 8, BarHeight: barHeight, Middle: nameWidth}
	scale := (chartWidth - nameWidth - figureWidth) / c.longest()
	names := c.names()
	for i, b := range c.Bars {
		y := float64(headHeight + rowHeight*i)
		x := float64(nameWidth)
		for _, p := range b.Parts {
			d.Boxes = append(d.Boxes, box{x, y, p.Value * scale, slices.Index(names, p.Name)})
			x += p.Value * scale
		}
		if b.Mark > 0 {
			d.Markers = append(d.Markers, box{X: nameWidth + b.Mark*scale, Y: y})
			x = max(x, nameWidth+b.Mark*scale)
		}
		d.Names = append(d.Names, label{nameWidth - 8, y + barHeight - 3, b.Name})
		d.Figures = append(d.Figures, label{x + 6, y + barHeight - 3, fmt.Sprintf(c.Format, b.Sum())})
	}
	for i, name := range names {
		if name != "" {
			x := float64(nameWidth + 60 + 110*i)
			d.Keys = append(d.Keys, box{X: x, Y: 38, Class: i})
			d.KeyNames = append(d.KeyNames, label{x + 16, 48, name})
		}
	}
	var text bytes.Buffer
	err := chartTemplate.Execute(&text, d)
	return text.Bytes(), err
}

// names returns the names of all parts in order of appearance.
func (c Chart) names() (names []string) {
	for _, b := range c.Bars {
		for _, p := range b.Parts {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

func (c Chart) longest() float64 {
	longest := c.Least
	for _, b := range c.Bars {
		longest = max(longest, b.Sum(), b.Mark)
	}
	if longest == 0 {
		return 1
	}
	return longest
}
