#include "runtime/device_list.hpp"

#include <gtest/gtest.h>

#include <deque>

// What a device of these tests says of itself.
struct bp_device {
  const char* name;
  uint32_t type;
  const char* bus_id = nullptr;
  uint8_t uuid_byte = 0;  // all sixteen
};

namespace backplane {
namespace {

bp_code get_info(bp_device* device, bp_device_info* info, bp_error*) {
  info->name = device->name;
  info->type = device->type;
  info->bus_id = device->bus_id;
  std::fill(std::begin(info->uuid), std::end(info->uuid), device->uuid_byte);
  info->memtype_count = 1;
  return BP_OK;
}

bp_code get_memtype(bp_device*, uint32_t, bp_memtype_info* info, bp_error*) {
  info->name = "plain";
  info->alignment = 64;
  return BP_OK;
}

using Names = std::vector<std::string>;

class DeviceListTest : public ::testing::Test {
 protected:
  Device* add(const std::string& plugin_id, uint32_t index, bp_device says) {
    bp_device* handle = &said_.emplace_back(says);
    devices_.push_back(Device::make(tables_, handle, plugin_id, index).value());
    all_.push_back(devices_.back().get());
    return all_.back();
  }
  // The names in their order, after naming.
  Names listed(const DeviceRules& rules) {
    list_ = list_devices(all_, rules);
    Names names;
    for (const Device* device : list_.devices) names.push_back(device->name());
    return names;
  }
  Names codes() const {
    Names codes;
    for (const Notice& notice : list_.notices)
      codes.push_back(std::string(severity_name(notice.severity)) + " " + notice.code);
    return codes;
  }
  void add_one_of_each() {
    add("org.a", 0, {"cpu0", BP_DEVICE_CPU});
    add("org.b", 0, {"npu0", BP_DEVICE_ACCEL});
    add("org.c", 0, {"igpu0", BP_DEVICE_IGPU});
    add("org.d", 0, {"gpu0", BP_DEVICE_GPU});
    add("org.d", 1, {"gpu1", BP_DEVICE_GPU});
  }

  bp_device_i table_ = [] {
    bp_device_i table = {};
    table.head = {sizeof table, BP_KIND_TABLE_DEVICE};
    table.get_info = get_info;
    table.get_memtype = get_memtype;
    return table;
  }();
  bp_opened tables_ = [this] {
    bp_opened opened = {};
    opened.device_i = &table_;
    return opened;
  }();
  std::deque<bp_device> said_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> all_;
  DeviceList list_;
};

TEST_F(DeviceListTest, StandsInTheDocumentedOrder) {
  add_one_of_each();
  add("org.e", 0, {"gpu9", BP_DEVICE_GPU});
  DeviceRules rules;
  EXPECT_EQ(listed(rules), (Names{"gpu0", "gpu1", "gpu9", "igpu0", "npu0", "cpu0"}));
  rules.priority = [](std::string_view id) { return id == "org.e" ? 5 : 0; };
  EXPECT_EQ(listed(rules), (Names{"gpu9", "gpu0", "gpu1", "igpu0", "npu0", "cpu0"}));
  rules.order = {"cpu0", "org.d:1"};
  EXPECT_EQ(listed(rules), (Names{"cpu0", "gpu1", "gpu9", "gpu0", "igpu0", "npu0"}));
  EXPECT_TRUE(list_.notices.empty());
}

TEST_F(DeviceListTest, HidingBeatsEverything) {
  add_one_of_each();
  DeviceRules rules;
  rules.hide = {"org.d:*"};
  rules.order = {"gpu0", "cpu0"};
  EXPECT_EQ(listed(rules), (Names{"cpu0", "igpu0", "npu0"}));
  EXPECT_EQ(codes(), (Names{"info device.not-found"}));  // gpu0 is ordered, but hidden
  rules.only = {"gpu0"};
  EXPECT_EQ(listed(rules), Names{});
  EXPECT_EQ(codes(), (Names{"error device.not-found"}));
}

TEST_F(DeviceListTest, OnlyTheseInThisOrder) {
  add_one_of_each();
  DeviceRules rules;
  rules.order = {"npu0"};
  rules.only = {"cpu0", "gpu*", "gpu1", "gpu7"};
  rules.only_source = "BACKPLANE_DEVICES";
  EXPECT_EQ(listed(rules), (Names{"cpu0", "gpu0", "gpu1"}));
  ASSERT_EQ(codes(), (Names{"error device.not-found"}));
  EXPECT_NE(list_.notices[0].message.find("BACKPLANE_DEVICES: no device 'gpu7' (did you mean 'gpu"), std::string::npos)
      << list_.notices[0].message;
}

TEST_F(DeviceListTest, SelectorsNameIdenticalDevicesApart) {
  const Device* device = add("org.a", 3, {"gpu0", BP_DEVICE_GPU, "0000:C1:00.0", 0xab});
  for (const char* selector :
       {"gpu0", "org.a:3", "pci:0000:c1:00.0", "PCI:0000:C1:00.0", "uuid:abababababababababababababababab",
        "uuid:ABABABAB-abab-abab-abab-abababababab", "gpu?", "org.*:3", "pci:*"})
    EXPECT_TRUE(is_selected_by(*device, selector)) << selector;
  for (const char* selector : {"", "gpu", "GPU0", "org.a", "org.a:0", "pci:0000:c1:00.1", "uuid:ab", "uuid:"})
    EXPECT_FALSE(is_selected_by(*device, selector)) << selector;
  EXPECT_EQ(device->identity(), "uuid:abababababababababababababababab");
  EXPECT_EQ(add("org.a", 4, {"gpu1", BP_DEVICE_GPU, "0000:c2:00.0"})->identity(), "pci:0000:c2:00.0");
  EXPECT_EQ(add("org.a", 5, {"gpu2", BP_DEVICE_GPU})->identity(), "org.a:5");
}

TEST_F(DeviceListTest, TwoDriversOfOneDeviceAreBothListedAndLinked) {
  const Device* first = add("org.cuda", 0, {"gpu0", BP_DEVICE_GPU, "0000:01:00.0", 1});
  const Device* second = add("org.vulkan", 0, {"gpu0", BP_DEVICE_GPU, "0000:01:00.0"});
  const Device* by_uuid = add("org.opencl", 0, {"gpu0", BP_DEVICE_GPU, nullptr, 1});
  const Device* other_bus = add("org.cuda", 1, {"gpu0", BP_DEVICE_GPU, "0000:02:00.0", 1});
  const Device* plain = add("org.cuda", 2, {"gpu0", BP_DEVICE_GPU});
  name_devices({}, all_);
  EXPECT_EQ(first->alias_of(), "");
  EXPECT_EQ(second->alias_of(), "org.cuda:0");
  EXPECT_EQ(by_uuid->alias_of(), "org.cuda:0");
  EXPECT_EQ(other_bus->alias_of(), "");
  EXPECT_EQ(plain->alias_of(), "");
  EXPECT_EQ(listed({}), (Names{"gpu0", "gpu0.2", "gpu0.3", "gpu0.4", "gpu0.5"}));
}

TEST_F(DeviceListTest, NewDevicesTakeNoNameFromOldOnes) {
  Device* old = add("org.a", 0, {"gpu0", BP_DEVICE_GPU, "0000:01:00.0"});
  Device* added = add("org.b", 0, {"gpu0", BP_DEVICE_GPU, "0000:01:00.0"});
  name_devices(std::array{old}, std::array{added});
  EXPECT_EQ(old->name(), "gpu0");
  EXPECT_EQ(added->name(), "gpu0.2");
  EXPECT_EQ(added->alias_of(), "org.a:0");
}

TEST(SplitSelectors, TrimsAndKeepsEmptyParts) {
  EXPECT_EQ(split_selectors(" a, b,,c "), (Names{"a", "b", "", "c"}));
  EXPECT_EQ(split_selectors(""), (Names{""}));
}

}  // namespace
}  // namespace backplane
