-- Decides acts on bets, many in one call, each by itself and in the order given. The twin of client_sdk/game/bets.py: a
-- test drives both side by side. Knows limits as data, never a card or a payout.
-- args     the acts in one, packed with MessagePack (as arguments of their own they cost the caller as much as all the rest):
--          {patron, connection, request_id, round, verb, spot ('' none), chip (minor units, '' none)} for each
-- returns  {'ok', now_ms, answer, answer, ...}, an answer packed with MessagePack:
--          ['ok', accepted_at_ms, stack, ready, sum player, sum banker, sum tie] or [CODE, arrived_at_ms, closed_at_ms] or
--          ['ALLOWANCE', arrived_at_ms, 0, version, day, turn, stake, loss]: the patron has limits, and so much is needed of
--          the wallet first (0 0: behind another act that needs it). Not decided, not kept: sent again, in its order
-- refusals of an act, in the order checked: REQUEST_REUSED, UNKNOWN_TABLE, NOT_SEATED, SEAT_TAKEN_OVER, TOO_MANY_ACTS,
--          ROUND_OVER, BETTING_CLOSED, then the rules' own. From ROUND_OVER on the answer is kept under (patron,
--          request_id) for this round and the next, and given again to the same request.
local ACTS_MAX = 400 -- by one patron in one round, remembered requests included

local kept = redis.call('HMGET', TABLE, 'phase', 'round', 'closes_at_ms', 'limits', 'frozen_round', 'closed_at_ms')
local exists, phase, round, closes_at_ms = kept[2], kept[1], tonumber(kept[2] or '0'), tonumber(kept[3] or '0')
local limits = kept[4] and cmsgpack.unpack(kept[4])
local is_frozen = kept[5] == kept[2] -- a clock that was set back does not open a round again
local is_open = phase == 'betting' and now_ms < closes_at_ms and not is_frozen
local closed_at_ms = tonumber(kept[6] or '0') -- 0 until the close was told
closed_at_ms = closed_at_ms > 0 and closed_at_ms or closes_at_ms
local requests, requests_before = REQUESTS[round % 2], REQUESTS[(round + 1) % 2]
local acts = cmsgpack.unpack(ARGV[1])

-- What the acts of this call read, one command for each key; decided upon here, and written back at the end.
local patrons, names, counts = {}, {}, {}
for i, act in ipairs(acts) do
  patrons[i] = act[1]
  names[i] = act[3] .. ' ' .. act[1] -- a request_id holds no space, so no two names meet
  counts[i] = ' ' .. act[1]
end

local function read(key, fields)
  local found = {}
  for i, value in ipairs(redis.call('HMGET', key, unpack(fields))) do
    found[fields[i]] = value
  end
  return found
end

local seats, layouts, stacks = read(SEATS, patrons), read(BETS, patrons), read(STACKS, patrons)
local remembered, remembered_before = read(requests, names), read(requests_before, names)
local decided_before = read(requests, counts)
local totals = read(TOTALS, SPOTS)
for patron, packed in pairs(layouts) do
  layouts[patron] = packed and cmsgpack.unpack(packed) or {}
end
for patron, stack in pairs(stacks) do
  stacks[patron] = tonumber(stack or '0')
end
for spot, total in pairs(totals) do
  totals[spot] = tonumber(total or '0')
end

local has_laid, has_paid = {}, {} -- patrons whose bets, and whose stacks, have changed
local grown_by, bettors_by = {}, {} -- by spot, how much the table's sums and bettors have
local is_ready_now, entries, kept_answers, touched = {}, {}, {}, 0

local function sums_of(layout)
  local sums = { player = 0, banker = 0, tie = 0 }
  for _, act in ipairs(layout) do
    for _, bet in ipairs(act) do
      sums[bet[1]] = sums[bet[1]] + bet[2]
    end
  end
  return sums
end

local function total_of(sums)
  return sums.player + sums.banker + sums.tie
end

-- The layout with everything off that `keep` does not want; acts left empty vanish.
local function filtered(layout, keep)
  local left = {}
  for _, act in ipairs(layout) do
    local bets = {}
    for _, bet in ipairs(act) do
      if keep(bet) then
        bets[#bets + 1] = bet
      end
    end
    if #bets > 0 then
      left[#left + 1] = bets
    end
  end
  return left
end

-- A sum that has fallen below the minimum comes off whole.
local function without_stumps(layout)
  local sums = sums_of(layout)
  return filtered(layout, function(bet)
    return sums[bet[1]] >= limits.minimum
  end)
end

local function has_conflict(sums)
  for _, pair in ipairs(limits.forbidden_pairs) do
    if sums[pair[1]] > 0 and sums[pair[2]] > 0 then
      return true
    end
  end
  return false
end

local function with_act(layout, act)
  local grown = {}
  for i, earlier in ipairs(layout) do
    grown[i] = earlier
  end
  grown[#grown + 1] = act
  return grown
end

local function has_chip(chip)
  for _, known in ipairs(limits.chips) do
    if known == chip then
      return true
    end
  end
  return false
end

-- Whether the whole table would then hold more on a spot of this act than it takes.
local function is_too_much(act)
  local bounds = limits.table_maximums or {} -- a table that an older node opened has none until its next round
  for _, bet in ipairs(act) do
    local bound = bounds[bet[1]]
    if bound and totals[bet[1]] + bet[2] > bound then
      return true
    end
  end
  return false
end

local function grown_sums(sums, act)
  local grown = { player = sums.player, banker = sums.banker, tie = sums.tie }
  for _, bet in ipairs(act) do
    grown[bet[1]] = grown[bet[1]] + bet[2]
  end
  return grown
end

-- Each verb: (layout, its sums, stack, spot, chip, patron) -> new layout and its sums, or nil and the refusal.
local verbs = {}

function verbs.place(layout, before, stack, spot, chip)
  local maximum = limits.maximums[spot]
  if not maximum then
    return nil, 'SPOT_FORBIDDEN'
  end
  if not has_chip(chip) then
    return nil, 'CHIP_UNKNOWN'
  end
  local act = { { spot, chip } }
  local sums = grown_sums(before, act)
  if has_conflict(sums) then
    return nil, 'SPOTS_CONFLICT'
  end
  if sums[spot] > maximum then
    return nil, 'ABOVE_MAXIMUM'
  end
  if sums[spot] < limits.minimum then
    return nil, 'BELOW_MINIMUM'
  end
  if is_too_much(act) then
    return nil, 'TABLE_MAXIMUM'
  end
  if chip > stack then
    return nil, 'INSUFFICIENT_STACK'
  end
  return with_act(layout, act), sums
end

local function with_sums(layout)
  return layout, sums_of(layout)
end

function verbs.undo(layout, _, _, spot)
  if spot == '' then
    if #layout == 0 then
      return nil, 'NOTHING_TO_UNDO'
    end
    local last = layout[#layout]
    return with_sums(without_stumps(filtered(layout, function(bet)
      for _, gone in ipairs(last) do
        if gone == bet then
          return false
        end
      end
      return true
    end)))
  end
  local top = nil
  for _, act in ipairs(layout) do
    for _, bet in ipairs(act) do
      if bet[1] == spot then
        top = bet
      end
    end
  end
  if not top then
    return nil, 'NOTHING_TO_UNDO'
  end
  return with_sums(without_stumps(filtered(layout, function(bet)
    return bet ~= top
  end)))
end

function verbs.clear()
  return with_sums({})
end

function verbs.rebet(layout, _, stack, _, _, patron)
  if #layout > 0 then
    return nil, 'LAYOUT_NOT_EMPTY'
  end
  local packed = redis.call('HGET', LAST, patron)
  local last = packed and cmsgpack.unpack(packed).bets or {}
  local act, sums = {}, { player = 0, banker = 0, tie = 0 }
  for _, spot in ipairs(SPOTS) do
    if (last[spot] or 0) > 0 then
      act[#act + 1] = { spot, last[spot] }
      sums[spot] = last[spot]
    end
  end
  if #act == 0 then
    return nil, 'NOTHING_TO_REBET'
  end
  for _, bet in ipairs(act) do
    if not limits.maximums[bet[1]] then
      return nil, 'SPOT_FORBIDDEN'
    end
  end
  if has_conflict(sums) then
    return nil, 'SPOTS_CONFLICT'
  end
  for _, bet in ipairs(act) do
    if bet[2] > limits.maximums[bet[1]] then
      return nil, 'ABOVE_MAXIMUM'
    end
  end
  for _, bet in ipairs(act) do
    if bet[2] < limits.minimum then
      return nil, 'BELOW_MINIMUM'
    end
  end
  if is_too_much(act) then
    return nil, 'TABLE_MAXIMUM'
  end
  if total_of(sums) > stack then
    return nil, 'INSUFFICIENT_STACK'
  end
  return { act }, sums
end

function verbs.double(layout, sums, stack)
  if #layout == 0 then
    return nil, 'NOTHING_TO_DOUBLE'
  end
  local act = {}
  for _, spot in ipairs(SPOTS) do
    if sums[spot] > 0 then
      if 2 * sums[spot] > limits.maximums[spot] then
        return nil, 'ABOVE_MAXIMUM'
      end
      act[#act + 1] = { spot, sums[spot] }
    end
  end
  if is_too_much(act) then
    return nil, 'TABLE_MAXIMUM'
  end
  if total_of(sums) > stack then
    return nil, 'INSUFFICIENT_STACK'
  end
  return with_act(layout, act), grown_sums(sums, act)
end

function verbs.ready(layout, sums)
  return layout, sums
end

-- Moves the chips from the layout with the sums `old` to this one with the sums `new`: the stack pays what was gained, the
-- table's sums follow, and the ledger has it.
local function lay(patron, old, layout, new, request_id, verb, spot_named, chip)
  local moved = total_of(new) - total_of(old)
  if moved ~= 0 then
    stacks[patron], has_paid[patron] = stacks[patron] - moved, true
    entries[#entries + 1] = { 'act', now_ms, patron, request_id, round, verb, spot_named, chip or 0,
      new.player - old.player, new.banker - old.banker, new.tie - old.tie, stacks[patron] }
  end
  for _, spot in ipairs(SPOTS) do
    if new[spot] ~= old[spot] then
      totals[spot] = totals[spot] + new[spot] - old[spot]
      grown_by[spot] = (grown_by[spot] or 0) + new[spot] - old[spot]
      local bettors = (new[spot] > 0 and 1 or 0) - (old[spot] > 0 and 1 or 0)
      bettors_by[spot] = (bettors_by[spot] or 0) + bettors
    end
  end
  layouts[patron], has_laid[patron] = layout, true
end

local needs = {} -- patrons of whom an act waits: those behind it wait too

-- Looks whether a patron's own limits let the sums of a layout change so; what is taken back always may be. Returns nil, a
-- refusal, or what is needed.
local function held_back(patron, old, new)
  if has_limited == false then
    return nil
  end
  local lying = total_of(old)
  local moved = total_of(new) - lying
  local allowance = moved ~= 0 and allowance_of(patron, lying)
  if not allowance then
    return nil
  end
  local stake, loss = allowance.stake_used + moved, allowance.loss_used + moved
  if moved > 0 and now_ms < allowance.excluded_until_ms then
    return { 'EXCLUDED', now_ms, closed_at_ms }
  end
  if moved > 0
    and (stake > allowance.stake_granted or loss > allowance.loss_granted or now_ms >= allowance.session_until_ms) then
    keep_allowance(patron, allowance)
    return { 'ALLOWANCE', now_ms, 0, allowance.version, allowance.day, allowance.turn, stake, loss }
  end
  allowance.stake_used, allowance.loss_used = stake, loss
  keep_allowance(patron, allowance)
  return nil
end

local function decide(patron, is_connected, request_id, act_round, verb, spot, chip)
  if act_round ~= round then
    return { 'ROUND_OVER', now_ms, closed_at_ms }
  end
  if not is_open then
    return { 'BETTING_CLOSED', now_ms, closed_at_ms }
  end
  local before = layouts[patron]
  local old = sums_of(before)
  local layout, new = verbs[verb](before, old, stacks[patron], spot, chip, patron) -- without a layout the second is why
  if not layout then
    return { new, now_ms, closed_at_ms }
  end
  local held = held_back(patron, old, new)
  if held then
    return held
  end
  local is_ready = verb == 'ready' and is_connected -- an away seat's last words must not speak for a seat that is there
  is_ready_now[patron] = is_ready
  touched = touched + 1
  lay(patron, old, layout, new, request_id, verb, spot, chip)
  return { 'ok', now_ms, stacks[patron], is_ready, new.player, new.banker, new.tie }
end

local function answer_to(place)
  local patron, connection, request_id, act_round, verb, spot, chip = unpack(acts[place])
  local content = table.concat({ verb, int(act_round), spot, chip == '' and '' or int(chip) }, ' ')
  local name = names[place]
  local packed = kept_answers[name] or remembered[name] or remembered_before[name]
  if packed then
    local request = cmsgpack.unpack(packed)
    return request[1] == content and request[2] or cmsgpack.pack({ 'REQUEST_REUSED', now_ms, closed_at_ms })
  end
  if not exists then
    return cmsgpack.pack({ 'UNKNOWN_TABLE', now_ms, 0 })
  end
  if not seats[patron] then
    return cmsgpack.pack({ 'NOT_SEATED', now_ms, closed_at_ms })
  end
  local seat = cmsgpack.unpack(seats[patron])
  if seat.connection ~= connection then
    return cmsgpack.pack({ 'SEAT_TAKEN_OVER', now_ms, closed_at_ms })
  end
  local count = counts[place]
  if tonumber(kept_answers[count] or decided_before[count] or '0') >= ACTS_MAX then
    return cmsgpack.pack({ 'TOO_MANY_ACTS', now_ms, closed_at_ms })
  end
  if needs[patron] then
    return cmsgpack.pack({ 'ALLOWANCE', now_ms, 0, 0, 0, 0, 0, 0 })
  end
  local decided = decide(patron, seat.connected, request_id, act_round, verb, spot, tonumber(chip))
  local answer = cmsgpack.pack(decided)
  if decided[1] == 'ALLOWANCE' then
    needs[patron] = true
    return answer
  end
  kept_answers[count] = int((tonumber(kept_answers[count] or decided_before[count] or '0')) + 1)
  kept_answers[name] = cmsgpack.pack({ content, answer })
  return answer
end

local function write(command, key, fields)
  if #fields > 0 then
    redis.call(command, key, unpack(fields))
  end
end

local function write_all()
  local laid, cleared, left, ready, unready, kept = {}, {}, {}, {}, {}, {}
  for patron in pairs(has_paid) do
    left[#left + 1], left[#left + 2] = patron, int(stacks[patron])
  end
  for patron in pairs(has_laid) do
    if #layouts[patron] > 0 then
      laid[#laid + 1], laid[#laid + 2] = patron, cmsgpack.pack(layouts[patron])
    else
      cleared[#cleared + 1] = patron
    end
  end
  for patron, is_ready in pairs(is_ready_now) do
    local group = is_ready and ready or unready
    group[#group + 1] = patron
  end
  for name, value in pairs(kept_answers) do
    kept[#kept + 1], kept[#kept + 2] = name, value
  end
  write('HSET', STACKS, left)
  write('HSET', BETS, laid)
  write('HDEL', BETS, cleared)
  write('SADD', READY, ready)
  write('SREM', READY, unready)
  write('HSET', requests, kept)
  for spot, grown in pairs(grown_by) do
    redis.call('HINCRBY', TOTALS, spot, int(grown))
    redis.call('HINCRBY', TOTALS, 'bettors:' .. spot, int(bettors_by[spot]))
  end
  enter_all(entries)
  if touched > 0 then
    redis.call('HINCRBY', TABLE, 'touched', touched)
    redis.call('HSET', TABLE, 'acted_at_ms', int(now_ms)) -- an early close comes after it (freeze_bets.lua)
  end
end

local answers = { 'ok', now_ms }
for place = 1, #acts do
  answers[#answers + 1] = answer_to(place)
end
write_all()
if is_open and all_ready() then
  nudge('ready')
end
return answers
