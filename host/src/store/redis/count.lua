local key, epoch, bucket, since, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local adds = #ARGV > 4
local find, sub = string.find, string.sub

local function before(a, b)
  if #a ~= #b then
    return #a < #b
  end
  return a < b
end

local function plus(a, b)
  local sum = a + b
  if sum > 9007199254740991 then
    return 9007199254740991
  end
  return sum
end

local held = redis.call('HGETALL', key)
local owner = false
local sums, mine, gone = {}, {}, {}
for i = 1, #held, 2 do
  local field, amount = held[i], held[i + 1]
  if field == 'e' then
    owner = amount
  else
    local colon = find(field, ':', 1, true) or 0
    local begins, lane = sub(field, 1, colon - 1), sub(field, colon + 1)
    if before(begins, since) then
      gone[#gone + 1] = field
    else
      sums[lane] = plus(sums[lane] or 0, amount)
      if begins == bucket then
        mine[lane] = amount
      end
    end
  end
end
if #held > 0 and not owner then
  return redis.error_reply('WRONGTYPE the hash is not a windowed counter')
end
if owner and before(epoch, owner) then
  return {owner}
end
if owner ~= epoch then
  if not adds then
    return {'0'}
  end
  if owner then
    redis.call('DEL', key)
  end
  sums, mine, gone = {}, {}, {}
  redis.call('HSET', key, 'e', epoch)
end

if adds then
  if not before(bucket, since) then
    for i = 5, #ARGV, 2 do
      local lane, amount = ARGV[i], ARGV[i + 1]
      sums[lane] = plus(sums[lane] or 0, amount)
      mine[lane] = plus(mine[lane] or 0, amount)
      redis.call('HSET', key, bucket .. ':' .. lane, string.format('%.0f', mine[lane]))
    end
  end
  for i = 1, #gone do
    redis.call('HDEL', key, gone[i])
  end
  redis.call('PEXPIRE', key, ttl)
end

local tally = {epoch}
for lane, sum in pairs(sums) do
  tally[#tally + 1] = lane
  tally[#tally + 1] = sum
end
return tally
