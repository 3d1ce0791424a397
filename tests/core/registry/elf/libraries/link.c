/* link.c -- one link of a chain of libraries: defines the function DEFINES, and calls NEEDS if that is given. */
#ifdef NEEDS
int NEEDS(void);
int DEFINES(void) { return NEEDS(); }
#else
int DEFINES(void) { return 1; }
#endif
