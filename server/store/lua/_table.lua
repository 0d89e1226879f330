-- What every script of a table shares: its keys, the store's clock, the fence, the bus. Put in front of each table script.
--
-- keys       the twenty-four keys of one table, in the order of `keys.py`
-- refusals   a script returns {'CODE', ...}; a good answer is {'ok', now_ms, ...}. All reads and refusals come before
--            the first write. Amounts stay below 2^53 and are written with %d, never by tostring (14 digits).

local TABLE, EVENTS, STACKS, SEATS, BETS, TOTALS, LAST = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local REQUESTS = { [0] = KEYS[8], [1] = KEYS[9] }
local READY, AWAY, LEAVING, PLAYED, TRANSFERS, OUTGOING = KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local LEDGER, CONSUMERS, INCOMING, OPERATED, ROUNDS = KEYS[16], KEYS[17], KEYS[18], KEYS[19], KEYS[20]
local LIMITED, CUTS, CUTTERS, SHOES = KEYS[21], KEYS[22], KEYS[23], KEYS[24]
local SHOES_KEPT = 16
local BUS = TABLE .. ':bus'
local SPOTS = { 'player', 'banker', 'tie' }

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local function int(number)
  return string.format('%d', number)
end

local function field(name)
  return redis.call('HGET', TABLE, name)
end

local function number_field(name)
  return tonumber(field(name) or '0')
end

-- The newest shape of a table's keys that these scripts understand. A table that a newer node has brought into a newer one is
-- left alone by every script: an older node takes no bet, and no seat, at it.
local SCHEMA = 3
if number_field('schema') > SCHEMA then
  return { 'NEWER_SCHEMA', now_ms }
end

-- kind: event (numbered, the same for all) | results | seat | crowd | alive | nudge
local function publish(kind, incarnation, seq, body)
  redis.call('SPUBLISH', BUS, cmsgpack.pack({ kind, incarnation, seq, body, now_ms }))
end

-- Enters movements of money into the table's ledger, under the next numbers. The entry's bytes are what is sealed, so a
-- kind, once used, keeps its fields and their order (server/ledger/entries.py).
local function enter_all(entries)
  if #entries == 0 then
    return
  end
  local number = redis.call('HINCRBY', TABLE, 'ledger', #entries) - #entries
  for i, entry in ipairs(entries) do
    redis.call('XADD', LEDGER, int(number + i) .. '-0', 'entry', cmsgpack.pack(entry))
  end
end

local function enter(entry)
  enter_all({ entry })
end

-- Counts a change of seats or sums, so that the owner knows when to tell the crowd.
local function touch()
  redis.call('HINCRBY', TABLE, 'touched', 1)
end

local function all_ready()
  local connected = number_field('connected')
  return connected > 0 and redis.call('SCARD', READY) >= connected
end

-- Tells the owner to look now: every seat is ready, or the first patron sat down at an idle table.
local function nudge(why)
  publish('nudge', field('incarnation') or '', number_field('seq'), why)
end

-- How the operator wants the table to run (operate_table.lua): open | paused | draining | closed.
local function mode()
  return field('mode') or 'open'
end

-- Enters what an operator did into the table's log of operator acts, and tells the owner by the count.
local function note_act(by, verb, reason, details)
  redis.call('XADD', OPERATED, 'MAXLEN', '~', 10000, '*', 'at_ms', int(now_ms), 'by', by, 'verb', verb, 'reason', reason,
    'details', details)
  redis.call('HINCRBY', TABLE, 'operated', 1)
end

local function is_undecided()
  local phase = field('phase')
  return phase == 'betting' or phase == 'dealing'
end

-- Whether the operator has asked for the open round to be void (ask_void.lua).
local function is_void_asked()
  return is_undecided() and field('void_round') == field('round')
end

-- The owner's right to write: both its epoch and its node id (a failover can lose a claim, and two nodes hold one number).
local function is_fenced(epoch, node)
  return field('epoch') ~= epoch or field('owner') ~= node
end

local function renew_lease(lease_ms)
  redis.call('HSET', TABLE, 'lease_until_ms', int(now_ms + tonumber(lease_ms)))
end

local DAY_MS = 86400000 -- a day of limits is one of UTC

-- What a patron with limits of the own may still do here, nil for everybody else (see server/patron_limits.py):
-- {version, day, turn, stake_used, loss_used, stake_granted, loss_granted, session_until_ms, excluded_until_ms}.
-- `lying` is what lies on the patron's spots: at the turn of the day it counts for the new one as well.
local has_limited = nil -- whether anybody has limits here: looked up once in a call, since most tables have nobody
local function allowance_of(patron, lying)
  if has_limited == nil then
    has_limited = redis.call('EXISTS', LIMITED) == 1
  end
  if not has_limited then
    return nil
  end
  local packed = redis.call('HGET', LIMITED, patron)
  local allowance = packed and cmsgpack.unpack(packed)
  local day = math.floor(now_ms / DAY_MS)
  if allowance and allowance.day < day then
    allowance.day, allowance.turn = day, allowance.turn + 1
    allowance.stake_used, allowance.loss_used, allowance.stake_granted, allowance.loss_granted = lying, lying, 0, 0
  end
  return allowance
end

local function keep_allowance(patron, allowance)
  redis.call('HSET', LIMITED, patron, cmsgpack.pack(allowance))
end

local function sum_of(layout)
  local sum = 0
  for _, act in ipairs(layout) do
    for _, bet in ipairs(act) do
      sum = sum + bet[2]
    end
  end
  return sum
end

-- Whether an act of this instant counts: a clock that was set back does not open a round again.
local function is_betting_open()
  local kept = redis.call('HMGET', TABLE, 'phase', 'round', 'closes_at_ms', 'frozen_round')
  return kept[1] == 'betting' and now_ms < tonumber(kept[3] or '0') and kept[4] ~= kept[2]
end

-- Keeps what was told of a shoe that has ended, with its cuts; the oldest one makes room.
local function keep_ended_shoe(number, record)
  local gone = int(tonumber(number) - SHOES_KEPT)
  redis.call('HSET', SHOES, number, record, number .. ':cuts', cmsgpack.pack(redis.call('LRANGE', CUTS, 0, -1)))
  redis.call('HDEL', SHOES, gone, gone .. ':cuts')
  redis.call('DEL', CUTS, CUTTERS)
end

-- One commit of the owner: state, events, publication and lease together.
-- args from `first`: epoch, node, lease_ms, incarnation, seq it follows, state, phase, round, closes_at_ms, closed_at_ms,
-- rules ('' unchanged), limits ('' unchanged), seal, sealed_to (see server/sealing.py), shoe, cut_round (in which it may be
-- cut; 0 never), ended_shoe (0 none), its record, then the events' bytes in order of seq.
-- Returns nil (go on: call write) or the answer to return: FENCED | INCARNATION | SEQ, or ok where it was done before.
local function check_commit(first)
  local events = #ARGV - first - 17
  local follows, seq = tonumber(ARGV[first + 4]), number_field('seq')
  if is_fenced(ARGV[first], ARGV[first + 1]) then
    return { 'FENCED', now_ms }
  end
  if field('incarnation') ~= ARGV[first + 3] then
    return { 'INCARNATION', now_ms }
  end
  if seq == follows + events and events > 0 and field('state') == ARGV[first + 5] then
    return { 'ok', now_ms, seq } -- the reply of this very commit was lost; it is not done twice
  end
  if seq ~= follows then
    return { 'SEQ', now_ms, seq }
  end
  return nil
end

local function write_commit(first)
  local incarnation, seq = ARGV[first + 3], tonumber(ARGV[first + 4])
  for i = first + 18, #ARGV do
    seq = seq + 1
    redis.call('XADD', EVENTS, 'MAXLEN', '~', 4096, int(seq) .. '-0', 'event', ARGV[i])
    publish('event', incarnation, seq, ARGV[i])
  end
  redis.call('HSET', TABLE, 'seq', int(seq), 'state', ARGV[first + 5], 'phase', ARGV[first + 6],
    'round', ARGV[first + 7], 'closes_at_ms', ARGV[first + 8], 'closed_at_ms', ARGV[first + 9],
    'shoe', ARGV[first + 14], 'cut_round', ARGV[first + 15])
  if ARGV[first + 6] == 'betting' then -- opened, or extended after an outage: what was frozen before counts no more
    redis.call('HDEL', TABLE, 'frozen_round', 'closed_early')
  end
  if ARGV[first + 10] ~= '' then
    redis.call('HSET', TABLE, 'rules', ARGV[first + 10], 'limits', ARGV[first + 11])
  end
  if tonumber(ARGV[first + 13]) > number_field('sealed_to') then
    redis.call('HSET', TABLE, 'seal', ARGV[first + 12], 'sealed_to', ARGV[first + 13])
    enter({ 'seal', now_ms, tonumber(ARGV[first + 7]), ARGV[first + 12], tonumber(ARGV[first + 13]) })
  end
  if ARGV[first + 16] ~= '0' then
    keep_ended_shoe(ARGV[first + 16], ARGV[first + 17])
  end
  renew_lease(ARGV[first + 2])
  return { 'ok', now_ms, seq }
end
