-- The busier direction of a link as a share of its speed. Absent where the speed is not known.
--
-- subsystem  network
-- grain      device
-- unit       %
-- inputs     network.rx_bytes_per_s, network.tx_bytes_per_s, network.link_speed_bytes_per_s
-- formula    100 * max(rx, tx) / speed
CASE WHEN rx_bytes_per_s IS NOT NULL AND tx_bytes_per_s IS NOT NULL
  THEN 100 * greatest(rx_bytes_per_s, tx_bytes_per_s) / nullif(link_speed_bytes_per_s, 0)
END
