// Makes the bytes of an /etc/ld.so.cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace backplane {

struct CacheEntry {
  std::string name, path;
#if defined(__x86_64__)
  uint32_t flags = 0x0303;
#else
  uint32_t flags = 0x0a03;
#endif
};

inline std::string cache_image(const std::vector<CacheEntry>& entries) {
  std::string head = "glibc-ld.so.cache1.1", table, texts;
  const auto append = [](std::string& bytes, uint32_t value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const size_t texts_at = 48 + entries.size() * 24;
  for (const CacheEntry& entry : entries) {
    append(table, entry.flags);
    append(table, static_cast<uint32_t>(texts_at + texts.size()));
    append(table, static_cast<uint32_t>(texts_at + texts.size() + entry.name.size() + 1));
    table.append(12, '\0');
    texts += entry.name + '\0' + entry.path + '\0';
  }
  append(head, static_cast<uint32_t>(entries.size()));
  append(head, static_cast<uint32_t>(texts.size()));
  head.resize(48, '\0');
  return head + table + texts;
}

}  // namespace backplane
