// `Set-Cookie` values by whether a browser sends the cookie back under a name of the gateway's own.

export const COMES_BACK_AS_OURS: ReadonlyArray<string> = [
  "portolan_session=x",
  "portolan_session=x; PATH=/; HttpOnly",
  "portolan_session =x",
  "portolan_session\t=x",
  "portolan_session \t = x; Path=/",
  "=portolan_session=x",
  "= portolan_session=x",
  "==portolan_session=x",
  " =\tportolan_session=x; path=/",
  "PORTOLAN_SESSION=x",
  "portolan_session",
  "portolan_session;max-age=0",
  "portolan_login=; Max-Age=0",
]

export const COMES_BACK_AS_ANOTHER: ReadonlyArray<string> = [
  "a=b",
  "a=portolan_session=x",
  "=a=portolan_session",
  "a=b; portolan_session=x",
  "portolan_session2=x",
  "my_portolan_session=x",
  "portolan session=x",
  // Only spaces and tabs are dropped around a name.
  "\u00a0portolan_session=x",
]
