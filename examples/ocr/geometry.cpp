#include "geometry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ocr {
namespace {

using backplane::Image;

// The top left corner first: of the two leftmost corners the upper one, and so on around.
Quad ordered(Quad corners) {
  std::sort(corners.begin(), corners.end(), [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  const auto [top_left, bottom_left] = std::minmax(corners[0], corners[1], [](Point a, Point b) { return a.y < b.y; });
  const auto [top_right, bottom_right] =
      std::minmax(corners[2], corners[3], [](Point a, Point b) { return a.y < b.y; });
  return {top_left, top_right, bottom_right, bottom_left};
}

void sample(const Image& image, Point at, uint8_t* rgb) {
  const double x = std::clamp(at.x, 0.0, image.width - 1.0), y = std::clamp(at.y, 0.0, image.height - 1.0);
  const auto x0 = static_cast<uint32_t>(x), y0 = static_cast<uint32_t>(y);
  const uint32_t x1 = std::min(x0 + 1, image.width - 1), y1 = std::min(y0 + 1, image.height - 1);
  const double fx = x - x0, fy = y - y0;
  for (int c = 0; c < 3; ++c) {
    const double top = image.pixel(x0, y0)[c] * (1 - fx) + image.pixel(x1, y0)[c] * fx;
    const double bottom = image.pixel(x0, y1)[c] * (1 - fx) + image.pixel(x1, y1)[c] * fx;
    rgb[c] = static_cast<uint8_t>(std::lround(top * (1 - fy) + bottom * fy));
  }
}

}  // namespace

double length(Point a) { return std::hypot(a.x, a.y); }
double quad_width(const Quad& quad) { return length(quad[1] - quad[0]); }
double quad_height(const Quad& quad) { return length(quad[3] - quad[0]); }

std::vector<Point> convex_hull(std::vector<Point> points) {
  if (points.size() < 3) return points;
  std::sort(points.begin(), points.end(), [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  // Andrew's monotone chain: the lower side, then the upper side backwards.
  std::vector<Point> hull;
  const auto extend = [&](Point p, size_t start) {
    while (hull.size() >= start + 2 && cross(hull.back() - hull[hull.size() - 2], p - hull.back()) <= 0)
      hull.pop_back();
    hull.push_back(p);
  };
  for (const Point p : points) extend(p, 0);
  const size_t upper = hull.size() - 1;
  for (size_t i = points.size() - 1; i-- > 0;) extend(points[i], upper);
  hull.pop_back();
  return hull;
}

Quad min_area_rectangle(const std::vector<Point>& points) {
  const std::vector<Point> hull = convex_hull(points);
  Quad best{hull[0], hull[0], hull[0], hull[0]};
  double best_area = std::numeric_limits<double>::infinity();
  // One side of the least rectangle lies on a side of the hull.
  for (size_t i = 0; i < hull.size(); ++i) {
    const Point side = hull[(i + 1) % hull.size()] - hull[i];
    if (length(side) == 0) continue;
    const Point u = side * (1 / length(side)), v = {-u.y, u.x};
    double u_min = dot(hull[0], u), u_max = u_min, v_min = dot(hull[0], v), v_max = v_min;
    for (const Point p : hull) {
      u_min = std::min(u_min, dot(p, u));
      u_max = std::max(u_max, dot(p, u));
      v_min = std::min(v_min, dot(p, v));
      v_max = std::max(v_max, dot(p, v));
    }
    const double area = (u_max - u_min) * (v_max - v_min);
    if (area >= best_area) continue;
    best_area = area;
    best = {u * u_min + v * v_min, u * u_max + v * v_min, u * u_max + v * v_max, u * u_min + v * v_max};
  }
  return ordered(best);
}

Quad grow_rectangle(const Quad& rectangle, double distance) {
  const double width = quad_width(rectangle), height = quad_height(rectangle);
  if (width == 0 || height == 0) return rectangle;
  const Point right = (rectangle[1] - rectangle[0]) * (distance / width);
  const Point down = (rectangle[3] - rectangle[0]) * (distance / height);
  return {rectangle[0] - right - down, rectangle[1] + right - down, rectangle[2] + right + down,
          rectangle[3] - right + down};
}

bool contains(const Quad& quad, Point point) {
  for (size_t i = 0; i < 4; ++i)
    if (cross(quad[(i + 1) % 4] - quad[i], point - quad[i]) < 0) return false;
  return true;
}

Image crop(const Image& image, const Quad& rectangle) {
  const auto width = static_cast<uint32_t>(std::max(1L, std::lround(quad_width(rectangle))));
  const auto height = static_cast<uint32_t>(std::max(1L, std::lround(quad_height(rectangle))));
  const Point right = (rectangle[1] - rectangle[0]) * (1.0 / width),
              down = (rectangle[3] - rectangle[0]) * (1.0 / height);
  Image out(width, height);
  for (uint32_t y = 0; y < height; ++y)
    for (uint32_t x = 0; x < width; ++x) sample(image, rectangle[0] + right * x + down * y, out.pixel(x, y));
  return out;
}

Image rotate_180(const Image& image) {
  Image out(image.width, image.height);
  for (uint32_t y = 0; y < image.height; ++y)
    for (uint32_t x = 0; x < image.width; ++x)
      std::copy_n(image.pixel(image.width - 1 - x, image.height - 1 - y), 3, out.pixel(x, y));
  return out;
}

Image rotate_left(const Image& image) {
  Image out(image.height, image.width);
  for (uint32_t y = 0; y < out.height; ++y)
    for (uint32_t x = 0; x < out.width; ++x) std::copy_n(image.pixel(image.width - 1 - y, x), 3, out.pixel(x, y));
  return out;
}

}  // namespace ocr
