// Points and rotated rectangles in pictures. Coordinates are pixels, y downwards.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <vector>

#include "backplane/formats/image.hpp"

namespace ocr {

struct Point {
  double x = 0, y = 0;
};

inline Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
inline Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
inline Point operator*(Point a, double s) { return {a.x * s, a.y * s}; }
inline double dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }
inline double cross(Point a, Point b) { return a.x * b.y - a.y * b.x; }
double length(Point a);

// Corners from the top left one, clockwise as seen on the screen.
using Quad = std::array<Point, 4>;

double quad_width(const Quad& quad);   // of the top side
double quad_height(const Quad& quad);  // of the left side

// The convex hull, in order. Fewer than three points come back as they are.
std::vector<Point> convex_hull(std::vector<Point> points);

// The rectangle of the least area around the points. REQUIRES: at least one point.
Quad min_area_rectangle(const std::vector<Point>& points);

// The rectangle with every side moved outwards by `distance`.
Quad grow_rectangle(const Quad& rectangle, double distance);

bool contains(const Quad& quad, Point point);

// The part of a picture inside a rectangle, upright.
backplane::Image crop(const backplane::Image& image, const Quad& rectangle);

backplane::Image rotate_180(const backplane::Image& image);
// By 90 degrees against the clock: the right side becomes the top.
backplane::Image rotate_left(const backplane::Image& image);

}  // namespace ocr
