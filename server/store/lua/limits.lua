-- What the limits of a patron are and how much of them is used: one door for the three things that are done with them, since
-- all of them begin with what is in force now. The patron's own limits and the house's hold side by side; the stricter counts.
--
-- LIMITS     a hash: version (counts changes), and one packed map:
--            own, house  {stake, loss, session}, each a day's minor units or ms, none left out
--            next        the looser ones that the patron asked for, own as it will be at next_at_ms
--            reminder_ms, own_excluded_until_ms, house_excluded_until_ms
--            day, grants table -> {turn, stake, loss}: how far each table may let the patron go on that day
--            session_at_ms, session_until_ms
-- args       'read' |
--            'set', own | house, stake, loss, session_ms, reminder_ms, excluded_until_ms ('' as it is, 0 none), loosen_ms,
--                   by, reason, details (house: what is entered into the log of operator acts) |
--            'grant', table, version, day, turn, stake, loss, break_ms |
--            'settle', table, day, turn, stake, loss
-- returns    read, set: {'ok', now_ms, version, the packed map}
--            grant: {'ok', now_ms, stake, loss, session_until_ms}: so far that table may let the patron go
--            settle: {'ok', now_ms}: the table has used so much, and lets the patron go no further in that turn
-- refusals   UNKNOWN_PATRON | grant: STALE | EXCLUDED | SESSION_OVER | STAKE_LIMIT | LOSS_LIMIT
local WITHOUT = 9007199254740991
local KINDS = { 'stake', 'loss', 'session' }

if not exists then
  return { 'UNKNOWN_PATRON' }
end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local version = limits_version()
local packed = redis.call('HGET', LIMITS, 'kept')
local kept = packed and cmsgpack.unpack(packed) or { own = {}, house = {}, reminder_ms = 0, own_excluded_until_ms = 0,
  house_excluded_until_ms = 0, day = 0, grants = {}, session_at_ms = 0, session_until_ms = 0 }
if kept.next and now_ms >= kept.next_at_ms then
  kept.own, kept.next, kept.next_at_ms = kept.next, nil, nil
end

local function in_force(kind)
  return math.min(kept.own[kind] or WITHOUT, kept.house[kind] or WITHOUT)
end

local function keep()
  redis.call('HSET', LIMITS, 'kept', cmsgpack.pack(kept))
end

local function set(limits, kind, value)
  limits[kind] = value > 0 and value or nil
end

-- What is stricter holds at once. What is looser waits, and so long everything stays as strict as it was.
local function set_own(loosen_ms)
  local next_own, is_looser, is_new = {}, false, false
  for i, kind in ipairs(KINDS) do
    local now = kept.own[kind] or WITHOUT
    local before = kept.next and (kept.next[kind] or WITHOUT) or now
    local asked = ARGV[2 + i] == '' and before or tonumber(ARGV[2 + i])
    asked = asked == 0 and WITHOUT or asked
    if asked < now then
      kept.own[kind] = asked
    end
    next_own[kind] = asked < WITHOUT and asked or nil
    is_looser = is_looser or asked > now
    is_new = is_new or asked ~= before
  end
  if not is_looser then
    kept.next, kept.next_at_ms = nil, nil
  elseif is_new or not kept.next then
    kept.next, kept.next_at_ms = next_own, now_ms + loosen_ms
  end
  if ARGV[7] ~= '' then
    kept.own_excluded_until_ms = math.max(kept.own_excluded_until_ms, tonumber(ARGV[7]))
  end
end

local function set_house()
  for i, kind in ipairs(KINDS) do
    if ARGV[2 + i] ~= '' then
      set(kept.house, kind, tonumber(ARGV[2 + i]))
    end
  end
  if ARGV[7] ~= '' then
    kept.house_excluded_until_ms = tonumber(ARGV[7])
  end
end

local function turn_to(day)
  if day > kept.day then
    kept.day, kept.grants = day, {}
  end
end

-- Begins a session where none is under way; false during the break behind one.
local function is_in_session(break_ms)
  local longest = in_force('session')
  if longest == WITHOUT or now_ms < kept.session_until_ms then
    return true
  end
  if now_ms < kept.session_until_ms + break_ms then
    return false
  end
  kept.session_at_ms, kept.session_until_ms = now_ms, now_ms + longest
  return true
end

-- How far a table may go: what it needs, and half of what would be left, so that not every bet has to ask.
local function far(kind, at, need)
  local limit, others = in_force(kind), 0
  if limit == WITHOUT then
    return WITHOUT
  end
  for name, grant in pairs(kept.grants) do
    others = others + (name ~= at and grant[kind] or 0)
  end
  local left = limit - others - need
  return left >= 0 and need + math.floor(left / 2) or nil
end

local function grant(at, asked_version, day, turn, stake_needed, loss_needed, break_ms)
  local before = kept.grants[at]
  if asked_version ~= version or day < kept.day or (day == kept.day and before and turn < before.turn) then
    return { 'STALE', now_ms }
  end
  if now_ms < math.max(kept.own_excluded_until_ms, kept.house_excluded_until_ms) then
    return { 'EXCLUDED', now_ms }
  end
  turn_to(day)
  if not is_in_session(break_ms) then
    return { 'SESSION_OVER', now_ms }
  end
  local stake, loss = far('stake', at, stake_needed), far('loss', at, loss_needed)
  if not stake or not loss then
    return { stake and 'LOSS_LIMIT' or 'STAKE_LIMIT', now_ms }
  end
  before = kept.grants[at]
  local is_same = before and before.turn == turn
  local function noted(kind, granted, need)
    granted = granted == WITHOUT and need or granted -- what has no bound is only counted
    return is_same and math.max(before[kind], granted) or granted
  end
  kept.grants[at] = { turn = turn, stake = noted('stake', stake, stake_needed), loss = noted('loss', loss, loss_needed) }
  keep()
  return { 'ok', now_ms, stake, loss, in_force('session') == WITHOUT and WITHOUT or kept.session_until_ms }
end

local verb = ARGV[1]
if verb == 'set' then
  if ARGV[2] == 'own' then
    set_own(tonumber(ARGV[8]))
    if ARGV[6] ~= '' then
      kept.reminder_ms = tonumber(ARGV[6])
    end
  else
    set_house()
    note_act(ARGV[9], 'limits', ARGV[10], ARGV[11])
  end
  if in_force('session') < kept.session_until_ms - kept.session_at_ms then -- one under way ends sooner
    kept.session_until_ms = kept.session_at_ms + in_force('session')
  end
  version = redis.call('HINCRBY', LIMITS, 'version', 1)
  keep()
elseif verb == 'grant' then
  return grant(ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]),
    tonumber(ARGV[8]))
elseif verb == 'settle' then
  local at, day, turn = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
  turn_to(day)
  local before = kept.grants[at]
  if day == kept.day and not (before and before.turn >= turn) then
    kept.grants[at] = { turn = turn, stake = tonumber(ARGV[5]), loss = tonumber(ARGV[6]) }
    keep()
  end
  return { 'ok', now_ms }
end
return { 'ok', now_ms, version, cmsgpack.pack(kept) }
