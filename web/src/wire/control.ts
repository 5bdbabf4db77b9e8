// Control codes, flags and the names of extension fields: the closed lists of
// docs/protocol.md.

export const Ctrl = {
  CLIENT_HELLO: 0x01,
  SERVER_HELLO: 0x02,
  PLAYER_MOVE: 0x03,
  BOARD_UPDATE: 0x04,
  ACK: 0x05,
  LIST_PROFILES: 0x06,
  PROFILE_INFO: 0x07,
  ERROR: 0x08,
  SERVER_NOTIFICATION: 0x09,
  CLIENT_GOODBYE: 0x0a,
  SPECTATE_GAME: 0x0b,
  SPECTATE_UPDATE: 0x0c,
  LOGIN_REQUEST: 0x0d,
  LOGIN_CHALLENGE: 0x0e,
  LOGOUT: 0x0f,
  LOGIN_SUCCESS: 0x10,
  LOGIN_FAILED: 0x11,
  GET_PLAYER_STATS: 0x12,
  PLAYER_STATS_DATA: 0x13,
  GET_PROFILE_INFO: 0x14,
  PROFILES_LIST: 0x15,
  SPECTATE_STOP: 0x16,
  GET_LEGAL_MOVES: 0x17,
  LEGAL_MOVES: 0x18,
  GET_LEADERBOARD: 0x19,
  LEADERBOARD_DATA: 0x1a,
  SUBMIT_PREDICTION: 0x1b,
  GET_PREDICTIONS: 0x1c,
  PREDICTION_DATA: 0x1d,
  GET_PROFILE_TOS: 0x1e,
  PROFILE_TOS_DATA: 0x1f,
  ACCEPT_PROFILE_TOS: 0x20,
  GET_ACTIVE_RESERVATIONS: 0x21,
  ACTIVE_RESERVATIONS_DATA: 0x22,
} as const;

export type CtrlName = keyof typeof Ctrl;

/** fragmented are the codes that may travel in fragments. */
export const fragmented: ReadonlySet<number> = new Set<number>([
  Ctrl.SERVER_HELLO,
  Ctrl.BOARD_UPDATE,
  Ctrl.PROFILE_INFO,
  Ctrl.ERROR,
  Ctrl.SERVER_NOTIFICATION,
  Ctrl.SPECTATE_UPDATE,
  Ctrl.LOGIN_CHALLENGE,
  Ctrl.LOGIN_FAILED,
  Ctrl.PLAYER_STATS_DATA,
  Ctrl.PROFILES_LIST,
  Ctrl.LEGAL_MOVES,
  Ctrl.LEADERBOARD_DATA,
  Ctrl.PREDICTION_DATA,
  Ctrl.PROFILE_TOS_DATA,
  Ctrl.ACTIVE_RESERVATIONS_DATA,
]);

export const Flag = {
  unreliable: 0x80,
  capProfileState: 0x02,
  boardIs960: 0x01,
  filter960: 0x02,
  filterStandard: 0x04,
  ext: 0x08,
  fragment: 0x10,
  noticeFallback: 0x20,
  noticeStopped: 0x40,
} as const;

/** Caps are the bits of the field session.caps. */
export const Caps = {
  login: 0x001,
  logout: 0x002,
  move: 0x004,
  stats: 0x008,
  leaderboard: 0x010,
  watchAll: 0x020,
  watchOne: 0x040,
  predict: 0x080,
  readPredictions: 0x100,
  seeMode: 0x200,
} as const;

export const Code = {
  accessDenied: 1001,
  internal: 1006,
  unknownPlayer: 1007,
  unknownBoard: 1008,
  moveRejected: 1009,
} as const;

export const Notice = { payout: 1, watchEnded: 2, maintenance: 3, announcement: 4, released: 5, expired: 6 } as const;

export const NO_TOKEN = "00000000000000000000000000000000";
